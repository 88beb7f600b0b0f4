import { Module } from '@nestjs/common';
import { CatsModule } from '@cats/cats.module';

@Module({ imports: [CatsModule] })
export class AppModule {}
